package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/device"
	"github.com/memspec/memspec/internal/cli"
)

// Cards of one chip run as the first of them, each with its own memory.
func TestAsChips(t *testing.T) {
	var devices []device.Device
	for _, name := range []string{"a100-sxm-40gb", "t4", "a100-sxm-80gb", "a10g"} {
		d, err := device.Lookup(name)
		require.NoError(t, err)
		devices = append(devices, d)
	}
	as := asChips(devices)
	for i, name := range []string{"a100-sxm-40gb", "t4", "a100-sxm-40gb", "a10g"} {
		assert.Equal(t, name, as[i].Name)
		assert.Equal(t, devices[i].Memory, as[i].Memory)
		assert.Equal(t, devices[i].SMs, as[i].SMs)
		assert.Equal(t, devices[i].ContextRange, as[i].ContextRange)
	}
}

// What is asked of several cards has the best of their answers, whichever card gives it.
func TestExitOfDevices(t *testing.T) {
	fits := fitDeviceJSON{fitDimJSON: fitDimJSON{Largest: 1}}
	unsure := fitDeviceJSON{fitDimJSON: fitDimJSON{Next: &nextJSON{Unsure: true}}}
	broken := fitDeviceJSON{fitDimJSON: fitDimJSON{Next: &nextJSON{}}}
	for _, tt := range []struct {
		devices []fitDeviceJSON
		want    int
	}{
		{[]fitDeviceJSON{broken, unsure, fits}, cli.ExitOK},
		{[]fitDeviceJSON{fits, unsure, broken}, cli.ExitOK},
		{[]fitDeviceJSON{broken, unsure, broken}, cli.ExitUnsure},
		{[]fitDeviceJSON{broken, broken}, cli.ExitBroken},
	} {
		assert.Equal(t, tt.want, (&fitDevicesJSON{Devices: tt.devices}).exit())
	}
	for _, tt := range []struct {
		dims []fitDimJSON // of which the worst answer is that of all
		want int
	}{
		{[]fitDimJSON{fits.fitDimJSON, fits.fitDimJSON}, cli.ExitOK},
		{[]fitDimJSON{unsure.fitDimJSON, fits.fitDimJSON}, cli.ExitUnsure},
		{[]fitDimJSON{unsure.fitDimJSON, broken.fitDimJSON}, cli.ExitBroken},
		{[]fitDimJSON{broken.fitDimJSON, unsure.fitDimJSON}, cli.ExitBroken},
	} {
		assert.Equal(t, tt.want, (&fitJSON{Dims: tt.dims}).exit())
	}
}

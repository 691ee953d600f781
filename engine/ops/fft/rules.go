package fft

import (
	"github.com/memspec/memspec/engine/ops"
)

// fftRules are Fourier transforms (aten/src/ATen/native/SpectralOps.cpp, cuda/SpectralOps.cpp).
var fftRules = []ops.Rule{
	{Schema: "aten::fft_fft(Tensor self, SymInt? n=None, int dim=-1, str? norm=None) -> Tensor", Body: fftOne(true)},
	{Schema: "aten::fft_ifft(Tensor self, SymInt? n=None, int dim=-1, str? norm=None) -> Tensor", Body: fftOne(false)},
	{Schema: "aten::fft_rfft(Tensor self, SymInt? n=None, int dim=-1, str? norm=None) -> Tensor", Body: rfft(true)},
	{Schema: "aten::fft_ihfft(Tensor self, SymInt? n=None, int dim=-1, str? norm=None) -> Tensor", Body: rfft(false)},
	{Schema: "aten::fft_irfft(Tensor self, SymInt? n=None, int dim=-1, str? norm=None) -> Tensor", Body: irfft(false)},
	{Schema: "aten::fft_hfft(Tensor self, SymInt? n=None, int dim=-1, str? norm=None) -> Tensor", Body: irfft(true)},
	{Schema: "aten::fft_fftn(Tensor self, SymInt[1]? s=None, int[1]? dim=None, str? norm=None) -> Tensor", Body: fftMany(true)},
	{Schema: "aten::fft_ifftn(Tensor self, SymInt[1]? s=None, int[1]? dim=None, str? norm=None) -> Tensor", Body: fftMany(false)},
	{Schema: "aten::fft_fft2(Tensor self, SymInt[1]? s=None, int[1] dim=[-2, -1], str? norm=None) -> Tensor", Body: fftMany(true)},
	{Schema: "aten::fft_ifft2(Tensor self, SymInt[1]? s=None, int[1] dim=[-2, -1], str? norm=None) -> Tensor", Body: fftMany(false)},
	{Schema: "aten::fft_rfftn(Tensor self, SymInt[1]? s=None, int[1]? dim=None, str? norm=None) -> Tensor", Body: rfftMany},
	{Schema: "aten::fft_rfft2(Tensor self, SymInt[1]? s=None, int[1] dim=[-2, -1], str? norm=None) -> Tensor", Body: rfftMany},
	{Schema: "aten::fft_irfftn(Tensor self, SymInt[1]? s=None, int[1]? dim=None, str? norm=None) -> Tensor", Body: irfftMany},
	{Schema: "aten::fft_irfft2(Tensor self, SymInt[1]? s=None, int[1] dim=[-2, -1], str? norm=None) -> Tensor", Body: irfftMany},
	{Schema: "aten::fft_hfftn(Tensor self, SymInt[1]? s=None, int[1]? dim=None, str? norm=None) -> Tensor", Body: hfftMany},
	{Schema: "aten::fft_hfft2(Tensor self, SymInt[1]? s=None, int[1] dim=[-2, -1], str? norm=None) -> Tensor", Body: hfftMany},
	{Schema: "aten::fft_ihfftn(Tensor self, SymInt[1]? s=None, int[1]? dim=None, str? norm=None) -> Tensor", Body: ihfftMany},
	{Schema: "aten::fft_ihfft2(Tensor self, SymInt[1]? s=None, int[1] dim=[-2, -1], str? norm=None) -> Tensor", Body: ihfftMany},
	{Schema: "aten::fft_fftshift(Tensor self, int[1]? dim=None) -> Tensor", Body: fftShift(1)},
	{Schema: "aten::fft_ifftshift(Tensor self, int[1]? dim=None) -> Tensor", Body: fftShift(-1)},
	{Schema: "aten::fft_fftfreq(int n, float d=1., *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
		Out: fftFreq(false)},
	{Schema: "aten::fft_rfftfreq(int n, float d=1., *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
		Out: fftFreq(true)},
	{Schema: "aten::_fft_c2c(Tensor self, SymInt[] dim, int normalization, bool forward) -> Tensor", Out: fftC2C, Workspace: fftWorkspace},
	{Schema: "aten::_fft_r2c(Tensor self, int[] dim, int normalization, bool onesided) -> Tensor", Out: fftR2C, Workspace: fftWorkspace},
	{Schema: "aten::_fft_c2r(Tensor self, int[] dim, int normalization, SymInt last_dim_size) -> Tensor", Out: fftC2R, Workspace: fftWorkspace},
	{Schema: "aten::stft(Tensor self, int n_fft, int? hop_length=None, int? win_length=None, Tensor? window=None, bool normalized=False, bool? onesided=None, bool? return_complex=None, bool? align_to_window=None) -> Tensor",
		Body: ops.Refusing(windowFits, stft)},
	{Schema: `aten::stft.center(Tensor self, int n_fft, int? hop_length=None, int? win_length=None, Tensor? window=None, bool center=True, str pad_mode="reflect", bool normalized=False, bool? onesided=None, bool? return_complex=None, bool? align_to_window=None) -> Tensor`,
		Body: ops.Refusing(windowFits, stftCenter)},
	{Schema: "aten::istft(Tensor self, int n_fft, int? hop_length=None, int? win_length=None, Tensor? window=None, bool center=True, bool normalized=False, bool? onesided=None, int? length=None, bool return_complex=False) -> Tensor",
		Body: istft},
}

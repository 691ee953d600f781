package device

import "github.com/memspec/memspec/engine/units"

// Figures are what a program may ask of a card beside its memory and its multiprocessors. They decide little about memory: the L2 cache is what
// Triton's tuner fills while it measures, and clocks and bus tell inductor whether a matrix product is bound by computing.
type Figures struct {
	Driver      string      // the card's name as the driver spells it
	L2          units.Bytes // 0: no public source
	Clock       int         // of the multiprocessors at most, in kHz; 0: no public source
	MemoryClock int         // in kHz; 0: no public source
	MemoryBus   int         // in bits; 0: no public source
	Source      string      // where L2, clocks and bus were read
}

// figures is by the row's name.
var figures = map[string]Figures{
	"k80":                  {Driver: "Tesla K80"},
	"p100-16gb":            {Driver: "Tesla P100-PCIE-16GB"},
	"v100-16gb":            {Driver: "Tesla V100-SXM2-16GB"},
	"v100-32gb":            {Driver: "Tesla V100-SXM2-32GB"},
	"t4":                   {Driver: "Tesla T4"},
	"a10":                  {Driver: "NVIDIA A10"},
	"a10g":                 {Driver: "NVIDIA A10G"},
	"a16":                  {Driver: "NVIDIA A16"},
	"a30":                  {Driver: "NVIDIA A30"},
	"a40":                  {Driver: "NVIDIA A40"},
	"a100-pcie-40gb":       {Driver: "NVIDIA A100-PCIE-40GB"},
	"a100-sxm-40gb":        {Driver: "NVIDIA A100-SXM4-40GB"},
	"a100-pcie-80gb":       {Driver: "NVIDIA A100 80GB PCIe"},
	"a100-sxm-80gb":        {Driver: "NVIDIA A100-SXM4-80GB"},
	"l4":                   {Driver: "NVIDIA L4"},
	"l40":                  {Driver: "NVIDIA L40"},
	"l40s":                 {Driver: "NVIDIA L40S"},
	"h100-pcie-80gb":       {Driver: "NVIDIA H100 PCIe"},
	"h100-sxm-80gb":        {Driver: "NVIDIA H100 80GB HBM3"},
	"h100-nvl-94gb":        {Driver: "NVIDIA H100 NVL"},
	"h200-sxm":             {Driver: "NVIDIA H200"},
	"h200-nvl":             {Driver: "NVIDIA H200 NVL"},
	"gh200-96gb":           {Driver: "NVIDIA GH200 480GB"},
	"b200":                 {Driver: "NVIDIA B200"},
	"titan-v":              {Driver: "NVIDIA TITAN V"},
	"titan-rtx":            {Driver: "NVIDIA TITAN RTX"},
	"quadro-rtx-6000":      {Driver: "Quadro RTX 6000"},
	"quadro-rtx-8000":      {Driver: "Quadro RTX 8000"},
	"rtx-a2000-12gb":       {Driver: "NVIDIA RTX A2000 12GB"},
	"rtx-a4000":            {Driver: "NVIDIA RTX A4000"},
	"rtx-a5000":            {Driver: "NVIDIA RTX A5000"},
	"rtx-a6000":            {Driver: "NVIDIA RTX A6000"},
	"rtx-4000-ada":         {Driver: "NVIDIA RTX 4000 Ada Generation"},
	"rtx-6000-ada":         {Driver: "NVIDIA RTX 6000 Ada Generation"},
	"rtx-pro-6000":         {Driver: "NVIDIA RTX PRO 6000 Blackwell Server Edition"},
	"gtx-1080-ti":          {Driver: "NVIDIA GeForce GTX 1080 Ti"},
	"rtx-2060":             {Driver: "NVIDIA GeForce RTX 2060"},
	"rtx-2080":             {Driver: "NVIDIA GeForce RTX 2080"},
	"rtx-2080-ti":          {Driver: "NVIDIA GeForce RTX 2080 Ti"},
	"rtx-3060":             {Driver: "NVIDIA GeForce RTX 3060"},
	"rtx-3060-ti":          {Driver: "NVIDIA GeForce RTX 3060 Ti"},
	"rtx-3070":             {Driver: "NVIDIA GeForce RTX 3070"},
	"rtx-3080":             {Driver: "NVIDIA GeForce RTX 3080"},
	"rtx-3080-ti":          {Driver: "NVIDIA GeForce RTX 3080 Ti"},
	"rtx-3090":             {Driver: "NVIDIA GeForce RTX 3090"},
	"rtx-3090-ti":          {Driver: "NVIDIA GeForce RTX 3090 Ti"},
	"rtx-4060":             {Driver: "NVIDIA GeForce RTX 4060"},
	"rtx-4060-ti-16gb":     {Driver: "NVIDIA GeForce RTX 4060 Ti"},
	"rtx-4070":             {Driver: "NVIDIA GeForce RTX 4070"},
	"rtx-4070-ti":          {Driver: "NVIDIA GeForce RTX 4070 Ti"},
	"rtx-4070-ti-super":    {Driver: "NVIDIA GeForce RTX 4070 Ti SUPER"},
	"rtx-4080":             {Driver: "NVIDIA GeForce RTX 4080"},
	"rtx-4080-super":       {Driver: "NVIDIA GeForce RTX 4080 SUPER"},
	"rtx-4090":             {Driver: "NVIDIA GeForce RTX 4090"},
	"rtx-5060":             {Driver: "NVIDIA GeForce RTX 5060"},
	"rtx-5060-ti-16gb":     {Driver: "NVIDIA GeForce RTX 5060 Ti"},
	"rtx-5070":             {Driver: "NVIDIA GeForce RTX 5070"},
	"rtx-5070-ti":          {Driver: "NVIDIA GeForce RTX 5070 Ti"},
	"rtx-5080":             {Driver: "NVIDIA GeForce RTX 5080"},
	"rtx-5090":             {Driver: "NVIDIA GeForce RTX 5090"},
	"jetson-agx-orin-64gb": {Driver: "Orin"},
	"jetson-orin-nano-8gb": {Driver: "Orin"},
}

class <lambda>(torch.nn.Module):
    def forward(self, arg0_1: "f32[128, 64]", arg1_1: "f32[128]", arg2_1: "f32[8, 64]", arg3_1: "f32[10, 128]", arg4_1: "f32[10]"):
        # File: /models/net.py:7 in forward, code: y = s.a(x)
        permute: "f32[64, 128]" = torch.ops.aten.permute.default(arg0_1, [1, 0]);  arg0_1 = None
        mm_default: "f32[8, 128]" = torch.ops.aten.mm.default(arg2_1, permute);  permute = None
        add_tensor: "f32[8, 128]" = torch.ops.aten.add.Tensor(arg1_1, mm_default);  arg1_1 = mm_default = None

        # File: /models/net.py:8 in forward, code: y = y.sin()
        sin: "f32[8, 128]" = torch.ops.aten.sin.default(add_tensor);  add_tensor = None

        # File: /models/net.py:9 in forward, code: y = y + x.sum()
        sum_1: "f32[]" = torch.ops.aten.sum.default(arg2_1);  arg2_1 = None
        add: "f32[8, 128]" = torch.ops.aten.add.Tensor(sin, sum_1);  sin = sum_1 = None

        # File: /models/net.py:10 in forward, code: z = torch.nn.functional.gelu(y)
        mul: "f32[8, 128]" = torch.ops.aten.mul.Tensor(add, 0.5)
        mul_1: "f32[8, 128]" = torch.ops.aten.mul.Tensor(add, 0.7071067811865476);  add = None
        erf: "f32[8, 128]" = torch.ops.aten.erf.default(mul_1);  mul_1 = None
        add_1: "f32[8, 128]" = torch.ops.aten.add.Tensor(erf, 1);  erf = None
        mul_2: "f32[8, 128]" = torch.ops.aten.mul.Tensor(mul, add_1);  mul = add_1 = None

        # File: /models/net.py:11 in forward, code: return s.b(z).softmax(1)
        permute_1: "f32[128, 10]" = torch.ops.aten.permute.default(arg3_1, [1, 0]);  arg3_1 = None
        addmm_1: "f32[8, 10]" = torch.ops.aten.addmm.default(arg4_1, mul_2, permute_1);  arg4_1 = mul_2 = permute_1 = None

        # No stacktrace found for following nodes
        prepare_softmax_online_default = torch.ops.prims.prepare_softmax_online.default(addmm_1, 1)

        # File: /models/net.py:11 in forward, code: return s.b(z).softmax(1)
        getitem: "f32[8, 1]" = prepare_softmax_online_default[0]
        getitem_1: "f32[8, 1]" = prepare_softmax_online_default[1];  prepare_softmax_online_default = None
        sub_tensor: "f32[8, 10]" = torch.ops.aten.sub.Tensor(addmm_1, getitem);  addmm_1 = getitem = None
        exp_default: "f32[8, 10]" = torch.ops.aten.exp.default(sub_tensor);  sub_tensor = None
        div: "f32[8, 10]" = torch.ops.aten.div.Tensor(exp_default, getitem_1);  exp_default = getitem_1 = None
        return (div,)

"""Recurrent layers and cells. lstm, gru and rnn_* run on PyTorch's own cells (record.NO_CUDNN);
_cudnn_rnn is what they call on a GPU."""

from ..spec import bad, call, f16, t, tr


def weights(gates, hidden, size, layers=1, dirs=1, biases=True, make=t):
    out = []
    for layer in range(layers):
        for _ in range(dirs):
            out += [make(gates * hidden, size if layer == 0 else hidden * dirs), make(gates * hidden, hidden)]
            out += [make(gates * hidden), make(gates * hidden)] if biases else []
    return out


CALLS = [
    call("lstm_cell", t(2, 4), [t(2, 6), t(2, 6)], *weights(4, 6, 4)),
    call("lstm_cell", t(2, 4), [t(2, 6), t(2, 6)], *weights(4, 6, 4, biases=False)),
    call("lstm_cell", f16(2, 4), [f16(2, 6), f16(2, 6)], *weights(4, 6, 4, make=f16)),
    call("gru_cell", t(2, 4), t(2, 6), *weights(3, 6, 4)),
    call("rnn_tanh_cell", t(2, 4), t(2, 6), *weights(1, 6, 4)),
    call("rnn_relu_cell", t(2, 4), t(2, 6), *weights(1, 6, 4)),
    call("lstm", t(5, 2, 4), [t(1, 2, 6), t(1, 2, 6)], weights(4, 6, 4), True, 1, 0.0, False, False, False),
    call("lstm", t(2, 5, 4), [t(1, 2, 6), t(1, 2, 6)], weights(4, 6, 4), True, 1, 0.0, False, False, True),
    call("lstm", t(5, 2, 4), [t(2, 2, 6), t(2, 2, 6)], weights(4, 6, 4, 2), True, 2, 0.0, False, False, False),
    call("lstm", t(5, 2, 4), [t(2, 2, 6), t(2, 2, 6)], weights(4, 6, 4, 1, 2), True, 1, 0.0, False, True, False),
    call("lstm", t(2, 5, 4), [t(4, 2, 6), t(4, 2, 6)], weights(4, 6, 4, 2, 2), True, 2, 0.5, True, True, True),
    call("lstm", t(5, 2, 4), [t(1, 2, 6), t(1, 2, 6)], weights(4, 6, 4, 1, 1, False), False, 1, 0.0, False, False, False),
    call("lstm", f16(5, 2, 4), [f16(1, 2, 6), f16(1, 2, 6)], weights(4, 6, 4, make=f16), True, 1, 0.0, False, False, False),
    call("gru", t(5, 2, 4), t(1, 2, 6), weights(3, 6, 4), True, 1, 0.0, False, False, False),
    call("gru", t(2, 5, 4), t(2, 2, 6), weights(3, 6, 4, 1, 2), True, 1, 0.0, False, True, True),
    call("gru", t(5, 2, 4), t(2, 2, 6), weights(3, 6, 4, 2), True, 2, 0.0, False, False, False),
    call("rnn_tanh", t(5, 2, 4), t(1, 2, 6), weights(1, 6, 4), True, 1, 0.0, False, False, False),
    call("rnn_relu", t(2, 5, 4), t(1, 2, 6), weights(1, 6, 4), True, 1, 0.0, False, False, True),
    bad("lstm_cell", t(2, 5), [t(2, 6), t(2, 6)], *weights(4, 6, 4)),
    call("_cudnn_rnn", t(5, 2, 4), weights(4, 6, 4), 4, None, t(1, 2, 6), t(1, 2, 6), 2, 6, 0, 1, False, 0.0, False, False, [], None),
    call("_cudnn_rnn", t(2, 5, 4), weights(4, 6, 4), 4, None, t(1, 2, 6), t(1, 2, 6), 2, 6, 0, 1, True, 0.0, False, False, [], None),
    call("_cudnn_rnn", t(5, 2, 4), weights(4, 6, 4, 2, 2), 4, t(2000), t(4, 2, 6), t(4, 2, 6), 2, 6, 0, 2, False, 0.0, False, True, [], None),
    call("_cudnn_rnn", t(5, 2, 4), weights(3, 6, 4), 4, None, t(1, 2, 6), None, 3, 6, 0, 1, False, 0.0, False, False, [], None),
    call("_thnn_fused_lstm_cell", t(2, 24), t(2, 24), t(2, 6)),
    call("_thnn_fused_gru_cell", t(2, 18), t(2, 18), t(2, 6)),
    call("gru_cell", tr(t(4, 2)), t(2, 6), *weights(3, 6, 4)),
]

package ops

var attentionRules = []Rule{}

package ops

var upsampleRules = []Rule{}

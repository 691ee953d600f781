package ops

var lossRules = []Rule{}

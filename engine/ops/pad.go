package ops

var padRules = []Rule{}

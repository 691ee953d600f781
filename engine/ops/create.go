package ops

var createRules = []Rule{}

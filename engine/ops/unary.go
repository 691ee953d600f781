package ops

var unaryRules = []Rule{}

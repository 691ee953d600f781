package ops

var compareRules = []Rule{}

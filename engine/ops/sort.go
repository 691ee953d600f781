package ops

var sortRules = []Rule{}

package ops

var quantRules = []Rule{}

package ops

var randomRules = []Rule{}

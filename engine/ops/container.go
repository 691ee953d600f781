package ops

var containerRules = []Rule{}

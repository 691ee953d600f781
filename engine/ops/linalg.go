package ops

var linalgRules = []Rule{}

package ops

var compositeRules = []Rule{}

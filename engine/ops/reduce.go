package ops

var reduceRules = []Rule{}

package ops

var viewRules = []Rule{}

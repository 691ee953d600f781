package ops

var castRules = []Rule{}

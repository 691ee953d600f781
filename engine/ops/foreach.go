package ops

var foreachRules = []Rule{}

package ops

var hostRules = []Rule{}

package ops

var joinRules = []Rule{}

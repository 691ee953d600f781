package ops

var visionRules = []Rule{}

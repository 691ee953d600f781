package ops

var embeddingRules = []Rule{}

package ops

// groups lists the domains. Tensor overloads come before the overloads on numbers and lists, as PyTorch registers them.
func groups() [][]Rule {
	return [][]Rule{
		pointwiseRules, specialRules, unaryRules, activationRules, differenceRules, gradientRules, compareRules, castRules, viewRules, viewCopyRules, joinRules, indexRules, createRules, randomRules,
		reduceRules, matmulRules, convRules, poolRules, normRules, softmaxRules, attentionRules, embeddingRules, lossRules,
		rnnRules, sortRules, quantRules, visionRules, outRules, outReduceRules, outIndexRules, outJoinRules, linalgRules, fftRules, padRules, upsampleRules, foreachRules, compositeRules,
		primRules, complexRules, hostRules, containerRules, stringRules,
	}
}

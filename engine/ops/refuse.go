package ops

// Refusing is a rule's Out or Body behind a check of the arguments that PyTorch makes and that the
// sizes of the results do not need.
func Refusing[T any](check func(*Call) error, do func(*Call) (T, error)) func(*Call) (T, error) {
	return func(c *Call) (T, error) {
		if err := check(c); err != nil {
			var none T
			return none, err
		}
		return do(c)
	}
}

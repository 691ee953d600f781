// Package cli is what the commands of memspec have in common: flags and arguments (flags, subject,
// specfiles, cases), what they write (outputs, results, text), the repository that a case lies in
// (git, commit, changed, estimates), and how a command ends (exit). No command's file uses another
// command's.
package cli

package approvals

import (
	"path"
	"slices"
	"strings"
)

// secretDirs are directories whose contents are credentials.
func secretDirs() []string {
	return []string{".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker", ".git", ".password-store", "secrets"}
}

// secretPatterns are glob patterns, in lower case, of the names of files that
// hold credentials.
func secretPatterns() []string {
	return []string{
		".env", ".env.*", "*.env", ".envrc", ".netrc", "_netrc", ".npmrc", ".pypirc", ".pgpass", ".htpasswd",
		".git-credentials", ".dockercfg", ".vault-token", "id_rsa*", "id_dsa*", "id_ecdsa*", "id_ed25519*",
		"*.pem", "*.key", "*.p12", "*.pfx", "*.jks", "*.keystore", "*.kdbx", "*.ppk", "*.asc", "*.gpg",
		"credentials", "credentials.*", "secret.*", "secrets.*", "*.tfvars", "*.tfstate", "kubeconfig",
		"service-account*.json", "service_account*.json", "token.json",
	}
}

// isSecret reports whether a path names a file that may hold credentials. It
// goes by the name alone and errs on the side of asking.
func isSecret(name string) bool {
	parts := strings.FieldsFunc(foldCase(name), isSeparator)
	if len(parts) == 0 {
		return false
	}
	for _, part := range parts {
		if slices.Contains(secretDirs(), part) {
			return true
		}
	}
	last := parts[len(parts)-1]
	return slices.ContainsFunc(secretPatterns(), func(pattern string) bool {
		match, err := path.Match(pattern, last)
		return match && err == nil
	})
}

// mentionsSecret reports whether a word of a command line names a secret file
// or is a pattern that could. It cannot see names that a command computes; the
// sandbox has to keep those from being read.
func mentionsSecret(command string) bool {
	words := strings.FieldsFunc(command, func(r rune) bool {
		return strings.ContainsRune(" \t\r\n;&|<>()=,:@`{}", r)
	})
	return slices.ContainsFunc(words, func(word string) bool {
		word = strings.NewReplacer(`"`, "", "'", "", `\`, "").Replace(word)
		return isSecret(word) || globsSecret(word)
	})
}

// globsSecret reports whether a word with wildcards could stand for a secret.
func globsSecret(word string) bool {
	if !strings.ContainsAny(word, "*?[") {
		return false
	}
	last := path.Base(strings.ToLower(word))
	samples := []string{
		".env", ".env.local", ".netrc", ".npmrc", ".git-credentials", "id_rsa", "id_ed25519",
		"server.pem", "server.key", "credentials", "secrets.json", ".ssh", ".aws",
	}
	return slices.ContainsFunc(samples, func(name string) bool {
		match, err := path.Match(last, name)
		return match || err != nil
	})
}

package redact

import (
	"regexp"
	"strings"
)

// Mask stands where a secret value was. It is the same for all values, as a hash of a short password
// could be reversed.
const Mask = "***"

// The forms of secrets, wherever they are in a text.
var (
	// pem is a PEM block, to its end or to the end of the text.
	pem = regexp.MustCompile(`(?s)-----BEGIN.*?(-----END[^-]*-----|$)`)
	// jwt is a JSON Web Token, signed (three parts) or encrypted (five): its first part is base64 of {".
	jwt = regexp.MustCompile(`eyJ[\w-]+(\.[\w-]*){2,4}`)
	// bearer is the token or the login of an HTTP header.
	bearer = regexp.MustCompile(`(?i)\b(bearer|basic) +[\w.~+/=-]{16,}`)
	// userinfo is what precedes the host in a URL. A password may have a slash in it, but a port, which
	// is a number, precedes the path: https://host:8080/dir@1 has no userinfo.
	userinfo = regexp.MustCompile(`//([^/?#\s]*|[^/?#\s:]*:[^/?#\s]*[^/?#\s\d][^/?#\s]*/[^?#\s]*)@`)
)

// Text masks in a text all that has the form of a secret: PEM blocks, JSON Web Tokens, the userinfo
// of URLs, and everything behind a key that names a secret, as in password=x, --token x or
// "key":"x". It cuts a long text behind that: half a secret may have no form. Masking again changes nothing.
func Text(s string) string { return cut(withoutSecrets(s), mostTextBytes) }

func withoutSecrets(s string) string {
	if len(s) >= len("eyJx..") && strings.Contains(s, "eyJ") {
		s = jwt.ReplaceAllLiteralString(s, Mask)
	}
	if len(s) > len("-----BEGIN") && strings.Contains(s, "-----BEGIN") {
		s = pem.ReplaceAllLiteralString(s, Mask)
	}
	if strings.Contains(s, "earer ") || strings.Contains(s, "asic ") {
		s = bearer.ReplaceAllString(s, "${1} "+Mask)
	}
	if strings.IndexByte(s, '@') > 0 && strings.Contains(s, "//") {
		s = userinfo.ReplaceAllLiteralString(s, "//"+Mask+"@")
	}
	return assigned(s)
}

// assigned masks everything behind the first key that names a secret and to which the text assigns
// a value. A password may have any character in it, so nothing shows where it ends.
func assigned(s string) string {
	var key lastWord
	for i := 1; i < len(s)-1; i++ {
		key.add(s, i-1)
		switch s[i] {
		case '=':
		case ':': // "key":"x" and key: x, but neither image:tag nor key:x, which may be a name
			if s[i-1] != '"' && s[i-1] != '\'' && s[i+1] != ' ' {
				continue
			}
		case ' ', '\t', '\n': // --key x
			if key.end-key.start < 2 || s[key.start] != '-' {
				continue
			}
		default:
			continue
		}
		if key.isNew() && secretKey(s[key.start:key.end]) {
			return s[:i+1] + Mask
		}
	}
	return s
}

// lastWord is where the last key of a text is, without the quotes and spaces behind it. It is found byte by byte: to look for it at each
// space would take a second for some ten thousand spaces in a row, and anybody may write as many into an annotation.
type lastWord struct{ start, end, asked int }

// add reads the byte of s at i; all bytes before were added.
func (w *lastWord) add(s string, i int) {
	switch c := s[i]; {
	case c == '"' || c == '\'' || c == ' ':
	case !letter(c) && (c < '0' || c > '9') && c != '-' && c != '_' && c != '.':
		w.start, w.end = i+1, i+1
	case w.end < i:
		w.start, w.end = i, i+1
	default:
		w.end = i + 1
	}
}

// isNew reports whether it was not called for the same word before.
func (w *lastWord) isNew() bool {
	known := w.asked == w.end
	w.asked = w.end
	return !known
}

// secretKey reports whether a key says that its value is secret. The domain before a slash, as in
// secrets.example.com/enabled, says nothing.
func secretKey(key string) bool {
	if slash := strings.LastIndexByte(key, '/'); slash >= 0 {
		key = key[slash+1:]
	}
	for i := range len(key) {
		if secretWord(key, i) {
			return true
		}
	}
	return false
}

// secretWord reports whether a word that says so begins at an index of a key.
func secretWord(key string, i int) bool {
	rest := key[i:]
	switch rest[0] | 0x20 {
	case 'c':
		return begins(rest, "cred")
	case 'k':
		return begins(rest, "key")
	case 'p':
		return begins(rest, "passw") || begins(rest, "passphrase") || begins(rest, "pwd") || begins(rest, "pass") && ends(key, i, len("pass"))
	case 's': // sig is the signature of a shared access signature
		return begins(rest, "secret") || len(rest) == len("sig") && begins(rest, "sig") && alone(key, i, len("sig"))
	case 't':
		return begins(rest, "token")
	}
	return false
}

// alone reports whether the n letters at an index are a word: no bypass, no passive.
func alone(key string, i, n int) bool {
	return (i == 0 || !letter(key[i-1])) && (i+n == len(key) || !letter(key[i+n]))
}

// ends reports whether the n letters at an index end a word, as in dbpass and adminPass; but not in bypass or compass.
func ends(key string, i, n int) bool {
	return (i+n == len(key) || !letter(key[i+n])) && !(i >= 2 && begins(key[i-2:], "by")) && !(i >= 3 && begins(key[i-3:], "com"))
}

// begins reports whether a text begins with a word of small letters, in any case.
func begins(s, word string) bool {
	if len(s) < len(word) {
		return false
	}
	for i := range len(word) {
		if s[i]|0x20 != word[i] {
			return false
		}
	}
	return true
}

func letter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

// masked masks, in place, the values of a map by their keys and their forms, and bounds the map. It returns the map.
func masked(m map[string]string) map[string]string {
	for key, value := range m {
		if kept := maskedValue(key, value); kept != value {
			m[key] = kept
		}
	}
	return bounded(m)
}

func maskedValue(key, value string) string {
	if value != "" && secretKey(key) {
		return Mask
	}
	return Text(value)
}

// parameters is masked for the parameters of a driver: it also drops those that name a Secret, and
// those whose key is no key but has the form of a secret.
func parameters(m map[string]string) map[string]string {
	for key, value := range m {
		secret := secretKey(key)
		switch {
		case secret && refersToSecret(key) || Text(key) != key:
			delete(m, key)
		case secret && value != "":
			m[key] = Mask
		default:
			if kept := Text(value); kept != value {
				m[key] = kept
			}
		}
	}
	return m
}

// refersToSecret reports whether a parameter names a Secret or its namespace, as
// csi.storage.k8s.io/node-stage-secret-name and adminSecretNamespace do.
func refersToSecret(key string) bool {
	plain := strings.Map(func(r rune) rune {
		if strings.ContainsRune("-_.", r) {
			return -1
		}
		return r
	}, strings.ToLower(key))
	return strings.Contains(plain, "secretname") || strings.Contains(plain, "secretref")
}

// texts masks, in place, each text of a list.
func texts[T ~string](list []T) []T {
	for i := range list {
		list[i] = T(Text(string(list[i])))
	}
	return list
}

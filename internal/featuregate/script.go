package featuregate

import (
	"errors"
	"strings"
)

// scanner splits a shell script into simple commands and their words, as far as finding one command's arguments needs it:
// quotes, escapes, comments, separators, redirections. Variables and command substitutions are not evaluated but marked.
type scanner struct {
	in       string
	at       int
	commands [][]word
	command  []word
	text     strings.Builder
	open     bool // a word has begun, even if it is empty ("")
	dynamic  int
	drop     bool // the next word is the target of a redirection
}

// splitScript returns the commands of a script. It fails on an unclosed quote or substitution and on here-documents.
func splitScript(script string) ([][]word, error) {
	s := &scanner{in: script, dynamic: -1}
	for s.at < len(s.in) {
		if err := s.step(); err != nil {
			return nil, err
		}
	}
	s.endCommand()
	return s.commands, nil
}

func (s *scanner) step() error {
	c := s.in[s.at]
	s.at++
	switch {
	case c == '\\':
		if s.at < len(s.in) {
			if s.in[s.at] != '\n' {
				s.add(s.in[s.at : s.at+1])
			}
			s.at++
		}
	case c == '\'':
		end := strings.IndexByte(s.in[s.at:], '\'')
		if end < 0 {
			return errors.New("a single quote is not closed")
		}
		s.add(s.in[s.at : s.at+end])
		s.at += end + 1
	case c == '"':
		return s.doubleQuoted()
	case c == '$' || c == '`':
		return s.expansion(c)
	case c == '#' && !s.open:
		if end := strings.IndexByte(s.in[s.at:], '\n'); end >= 0 {
			s.at += end
		} else {
			s.at = len(s.in)
		}
	case c == ' ' || c == '\t' || c == '\r':
		s.endWord()
	case c == '>' || c == '<' || c == '&' && s.at < len(s.in) && s.in[s.at] == '>':
		return s.redirection()
	case strings.IndexByte("\n;&|()", c) >= 0:
		s.endCommand()
	default:
		s.add(s.in[s.at-1 : s.at])
	}
	return nil
}

func (s *scanner) doubleQuoted() error {
	s.open = true
	for s.at < len(s.in) {
		c := s.in[s.at]
		s.at++
		switch {
		case c == '"':
			return nil
		case c == '\\' && s.at < len(s.in) && strings.IndexByte("$`\"\\\n", s.in[s.at]) >= 0:
			if s.in[s.at] != '\n' {
				s.add(s.in[s.at : s.at+1])
			}
			s.at++
		case c == '$' || c == '`':
			if err := s.expansion(c); err != nil {
				return err
			}
		default:
			s.add(s.in[s.at-1 : s.at])
		}
	}
	return errors.New("a double quote is not closed")
}

// expansion takes $NAME, ${NAME}, $(command) and `command` over as they stand and marks the word.
func (s *scanner) expansion(c byte) error {
	start := s.at - 1
	rest := s.in[s.at:]
	end := 0
	switch {
	case c == '`':
		end = strings.IndexByte(rest, '`') + 1
	case strings.HasPrefix(rest, "{"):
		end = strings.IndexByte(rest, '}') + 1
	case strings.HasPrefix(rest, "("):
		end = closing(rest)
	case rest != "" && strings.IndexByte("@*#?$!-0123456789", rest[0]) >= 0:
		end = 1
	default:
		for end < len(rest) && (rest[end] == '_' || isLetterOrDigit(rest[end])) {
			end++
		}
		if end == 0 { // a lone dollar is itself
			s.add("$")
			return nil
		}
	}
	if end <= 0 {
		return errors.New("a substitution is not closed")
	}
	if s.dynamic < 0 {
		s.dynamic = s.text.Len()
	}
	s.at += end
	s.add(s.in[start:s.at])
	return nil
}

// closing returns the index behind the parenthesis that closes the first one, or 0.
func closing(text string) int {
	depth := 0
	for i := range len(text) {
		switch text[i] {
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return 0
}

// redirection drops the operator, the number before it and the target behind it.
func (s *scanner) redirection() error {
	if strings.Trim(s.text.String(), "0123456789") == "" {
		s.reset()
	}
	s.endWord()
	start := s.at - 1
	for s.at < len(s.in) && strings.IndexByte("<>&|", s.in[s.at]) >= 0 {
		s.at++
	}
	if op := s.in[start:s.at]; op == "<<" {
		return errors.New("it has a here-document")
	}
	s.drop = true
	return nil
}

func (s *scanner) add(text string) {
	s.text.WriteString(text)
	s.open = true
}

func (s *scanner) reset() {
	s.text.Reset()
	s.open, s.dynamic = false, -1
}

func (s *scanner) endWord() {
	if s.open && !s.drop {
		s.command = append(s.command, word{text: s.text.String(), dynamic: s.dynamic})
	}
	s.drop = s.drop && !s.open
	s.reset()
}

func (s *scanner) endCommand() {
	s.endWord()
	s.drop = false
	if len(s.command) > 0 {
		s.commands = append(s.commands, s.command)
	}
	s.command = nil
}

func isLetterOrDigit(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}

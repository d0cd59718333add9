package safety

import "strings"

// databaseHandlers are the command-line clients of databases.
func databaseHandlers() map[string]handler {
	out := map[string]handler{"sqlite3": sqliteCommand, "redis-cli": redisCommand, "mongosh": mongoCommand, "bq": bqCommand}
	for _, name := range []string{"psql", "mysql", "clickhouse-client", "clickhouse", "sqlcmd", "cqlsh", "duckdb", "snowsql", "presto", "trino", "usql", "influx", "cypher-shell"} {
		out[name] = sqlCommand
	}
	return out
}

// sqlCommand runs SQL from its options or its input.
func sqlCommand(c *call) output {
	texts := c.args.values("-c", "--command", "-e", "--execute", "-q", "-Q", "--query")
	for _, w := range texts {
		c.sql(w.text)
	}
	if len(texts) == 0 && c.f.stdin != nil {
		c.sql(c.f.stdin.text)
	}
	return passOn(c)
}

// sqliteCommand runs the SQL in its second operand, or its input.
func sqliteCommand(c *call) output {
	texts := c.args.values("-cmd")
	if len(c.args.operands) > 1 {
		texts = append(texts, c.args.operands[1:]...)
	} else if c.f.stdin != nil {
		texts = append(texts, word{text: c.f.stdin.text})
	}
	for _, w := range texts {
		c.sql(w.text)
	}
	return passOn(c)
}

// redisCommand runs the commands on its input.
func redisCommand(c *call) output {
	if c.f.stdin == nil || len(c.args.operands) > 0 {
		return passOn(c)
	}
	for line := range strings.SplitSeq(c.f.stdin.text, "\n") {
		if strings.TrimSpace(line) != "" {
			c.a.report("redis-cli -- "+strings.Join(strings.Fields(line), " "), ViewCode, c.f.inner())
		}
	}
	return passOn(c)
}

// bqCommand runs the query of bq query.
func bqCommand(c *call) output {
	if c.args.sub() == "query" {
		for _, w := range c.args.operands {
			c.sql(w.text)
		}
	}
	return passOn(c)
}

// sql reports every statement of an SQL script, and runs the shell escapes of
// the clients.
func (c *call) sql(text string) {
	for line := range strings.SplitSeq(text, "\n") {
		line = strings.TrimSpace(line)
		for _, escape := range []string{`\!`, ".shell ", ".system ", "system "} {
			if rest, ok := strings.CutPrefix(line, escape); ok {
				c.a.script(rest, c.f.inner(), c.sc.fork())
			}
		}
	}
	for statement := range strings.SplitSeq(stripSQLComments(text), ";") {
		c.sqlProgram(statement)
		fields := strings.Fields(statement)
		if len(fields) > 0 {
			c.a.report("sql: "+strings.ToLower(strings.Join(fields, " ")), ViewCode, c.f.inner())
		}
	}
}

// sqlProgram runs the program that COPY reads from or writes to.
func (c *call) sqlProgram(statement string) {
	i := strings.Index(strings.ToLower(statement), " program ")
	if i < 0 {
		return
	}
	literal := strings.TrimSpace(statement[min(i+len(" program "), len(statement)):])
	c.runScript(word{text: strings.Trim(literal, "'$ ")})
}

// stripSQLComments removes comments outside string literals.
func stripSQLComments(text string) string {
	if !strings.Contains(text, "--") && !strings.Contains(text, "/*") {
		return text
	}
	var b strings.Builder
	for i := 0; i < len(text); {
		rest := text[i:]
		end := 0
		switch {
		case rest[0] == '\'':
			if j := strings.IndexByte(rest[1:], '\''); j >= 0 {
				b.WriteString(rest[:j+2])
				i += j + 2
				continue
			}
		case strings.HasPrefix(rest, "--"):
			end = strings.IndexByte(rest, '\n')
		case strings.HasPrefix(rest, "/*"):
			if end = strings.Index(rest, "*/"); end >= 0 {
				end += 2
			}
		}
		switch {
		case end < 0:
			return b.String()
		case end > 0:
			b.WriteByte(' ')
			i += end
		default:
			b.WriteByte(rest[0])
			i++
		}
	}
	return b.String()
}

// mongoCommand runs JavaScript against a database.
func mongoCommand(c *call) output {
	texts := c.args.values("--eval")
	if len(texts) == 0 && c.f.stdin != nil {
		texts = []word{{text: c.f.stdin.text}}
	}
	for _, w := range texts {
		c.a.report("code: mongosh "+strings.Join(strings.Fields(w.text), " "), ViewCode, c.f.inner())
	}
	return passOn(c)
}

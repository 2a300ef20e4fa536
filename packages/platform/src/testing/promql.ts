/** The names in a Prometheus query. */
export interface QueryParts {
  readonly selectors: readonly { readonly name: string; readonly labels: readonly string[] }[];
  /** The labels of `by`, `without`, `on`, `ignoring`, `group_left` and `group_right`. */
  readonly grouping: readonly string[];
}

const groupingWords = 'by|without|on|ignoring|group_left|group_right';
const words = new Set(['and', 'or', 'unless', 'offset', 'bool', 'inf', 'nan']);

/** Extracts the names of a query; Prometheus validates the query itself. */
export function queryParts(query: string): QueryParts {
  const grouping: string[] = [];
  const bare = query
    // Quoted strings may contain anything.
    .replaceAll(/"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'/g, '""')
    // Ranges and durations.
    .replaceAll(/\[[^\]]*\]/g, '')
    .replaceAll(/\b\d[\w.]*\b/g, '0')
    .replaceAll(new RegExp(`\\b(?:${groupingWords})\\s*\\(([^)]*)\\)`, 'g'), (_, labels: string) => {
      grouping.push(...namesIn(labels));
      return ' ';
    });
  const selectors = [...bare.matchAll(/([a-zA-Z_:][\w:]*)\s*(\{[^}]*\}|\()?/g)]
    .filter(([, name = '', after]) => after !== '(' && !words.has(name.toLowerCase()))
    .map(([, name = '', labels = '']) => ({
      name,
      labels: [...labels.matchAll(/(\w+)\s*[=!]/g)].map(([, label = '']) => label),
    }));
  return { selectors, grouping };
}

export function metricNamesOf(query: string): string[] {
  return queryParts(query).selectors.map(({ name }) => name);
}

function namesIn(list: string): string[] {
  return list
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '');
}

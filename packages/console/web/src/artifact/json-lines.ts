/**
 * An indented text with more characters than this is shown as it is. Indenting multiplies the length of deeply nested
 * JSON: 124 KB became 248 MB.
 */
const indentedCharactersMax = 5_000_000;

/**
 * Indents JSON. Its numbers, its order and its duplicate members stay as a program reads them, which
 * `JSON.stringify(JSON.parse(text))` would change.
 * @returns the text itself in lines if it is invalid, for example the beginning of a longer one, or too deeply nested
 */
export function jsonLines(text: string): readonly string[] {
  return indented(text) ?? text.split('\n');
}

function indented(text: string): string[] | undefined {
  if (!isJson(text)) return undefined;
  const lines: string[] = [];
  let line = '';
  let characters = 0;
  let depth = 0;
  let isOpened = false;
  const endLine = () => {
    lines.push(line);
    characters += line.length;
    line = ' '.repeat(2 * depth);
  };
  for (const token of tokensOf(text)) {
    const isEnd = token === '}' || token === ']';
    if (isEnd) depth -= 1;
    // An empty object or list stays in one line.
    if (isOpened !== isEnd) endLine();
    isOpened = token === '{' || token === '[';
    if (isOpened) depth += 1;
    line += token === ':' ? ': ' : token;
    if (token === ',') endLine();
    if (characters + line.length > indentedCharactersMax) return undefined;
  }
  lines.push(line);
  return lines;
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** The tokens of valid JSON. Escapes in strings are decoded as far as they can be shown. */
function* tokensOf(text: string): Generator<string> {
  for (let at = 0; at < text.length; ) {
    const first = text.charAt(at);
    const end =
      first === '"' ? endOfString(text, at) : '{}[],:'.includes(first) ? at + 1 : endOfWord(text, at);
    const token = text.slice(at, end);
    if (token !== '') yield token.includes('\\') ? JSON.stringify(JSON.parse(token)) : token;
    at = Math.max(end, at + 1);
  }
}

function endOfString(text: string, start: number): number {
  let at = start + 1;
  while (text.charAt(at) !== '"') at += text.charAt(at) === '\\' ? 2 : 1;
  return at + 1;
}

/** The end of a number or a literal; the start itself for white space. */
function endOfWord(text: string, start: number): number {
  let at = start;
  while (at < text.length && /[\w.+-]/.test(text.charAt(at))) at += 1;
  return at;
}

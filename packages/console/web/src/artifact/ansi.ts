/** A piece of a log line, with the style that the escape sequences before it set. */
export interface AnsiPiece {
  readonly text: string;
  /** Names of CSS classes: `fg1`, `bg4`, `bold`, `dim`, `italic`, `underline`. */
  readonly style: readonly string[];
}

interface Style {
  readonly foreground: number | undefined;
  readonly background: number | undefined;
  readonly bold: boolean;
  readonly dim: boolean;
  readonly italic: boolean;
  readonly underline: boolean;
}

const plain: Style = {
  foreground: undefined,
  background: undefined,
  bold: false,
  dim: false,
  italic: false,
  underline: false,
};
/** A line with more pieces or more characters is truncated, and ends with an ellipsis. */
const piecesMax = 200;
const lineCharactersMax = 4_000;

const [bell, escape] = ['\u0007', '\u001b'];
/** Terminal escape sequences. Only those for colours and text styles (`m`) have an effect; the others are removed. */
const sequences = new RegExp(
  String.raw`${escape}(?:\[([0-9;:]*)[ -/]*([@-~])|\][^${bell}${escape}]{0,2000}(?:${bell}|${escape}\\)|[ -/]*[0-~])`,
  'g',
);
/** Control characters are removed, because they could change how a line is displayed. */
const controls = /(?![\t\n])\p{Cc}/gu;

/** Splits the text of a log into lines of styled pieces. The result contains no markup: it is rendered as text. */
export function ansiLines(text: string, linesMax: number): AnsiPiece[][] {
  let style = plain;
  const lines: AnsiPiece[][] = [];
  for (const line of text.split('\n', linesMax)) {
    // A terminal doesn't show text that was overwritten after a carriage return.
    const shown = lastOverwrite(line);
    const { pieces, isCut, after } = piecesOf(shown.slice(0, lineCharactersMax), style);
    const isShort = isCut || shown.length > lineCharactersMax;
    lines.push(isShort ? [...pieces, { text: ' …', style: [] }] : pieces);
    style = after;
  }
  return lines;
}

/** The text after the last carriage return. No regular expression: `\r+$` takes 15 minutes for a million of them. */
function lastOverwrite(line: string): string {
  let end = line.length;
  while (end > 0 && line[end - 1] === '\r') end -= 1;
  return line.slice(line.lastIndexOf('\r', end - 1) + 1, end);
}

interface Pieces {
  readonly pieces: AnsiPiece[];
  readonly isCut: boolean;
  /** The style of the next line. */
  readonly after: Style;
}

function piecesOf(line: string, before: Style): Pieces {
  let style = before;
  let isCut = false;
  let at = 0;
  const pieces: AnsiPiece[] = [];
  const push = (text: string) => {
    const clean = text.replaceAll(controls, '');
    if (clean === '') return;
    if (pieces.length < piecesMax) pieces.push({ text: clean, style: classesOf(style) });
    else isCut = true;
  };
  for (const match of line.matchAll(sequences)) {
    push(line.slice(at, match.index));
    at = match.index + match[0].length;
    if (match[2] === 'm') style = styled(style, match[1] ?? '');
  }
  push(line.slice(at));
  return { pieces, isCut, after: style };
}

function styled(before: Style, parameters: string): Style {
  const codes = parameters.split(/[;:]/, 32).map(Number);
  let style = before;
  for (let place = 0; place < codes.length; place += 1) {
    const code = codes[place] ?? 0;
    if (code === 38 || code === 48) {
      const isIndexed = codes[place + 1] === 5;
      const colour = isIndexed ? basicOf(codes[place + 2] ?? 0) : undefined;
      style = { ...style, ...(code === 38 ? { foreground: colour } : { background: colour }) };
      place += isIndexed ? 2 : 4;
    } else style = withCode(style, code);
  }
  return style;
}

/** The basic colour at a palette index; undefined for all other indexes. */
const basicOf = (index: number): number | undefined => (index >= 0 && index < 16 ? index : undefined);

function withCode(style: Style, code: number): Style {
  if (code === 0) return plain;
  if (code === 1) return { ...style, bold: true };
  if (code === 2) return { ...style, dim: true };
  if (code === 3) return { ...style, italic: true };
  if (code === 4) return { ...style, underline: true };
  if (code === 22) return { ...style, bold: false, dim: false };
  if (code === 23) return { ...style, italic: false };
  if (code === 24) return { ...style, underline: false };
  if (code === 39) return { ...style, foreground: undefined };
  if (code === 49) return { ...style, background: undefined };
  if (code >= 30 && code <= 37) return { ...style, foreground: code - 30 };
  if (code >= 90 && code <= 97) return { ...style, foreground: code - 82 };
  if (code >= 40 && code <= 47) return { ...style, background: code - 40 };
  if (code >= 100 && code <= 107) return { ...style, background: code - 92 };
  return style;
}

function classesOf({ foreground, background, ...flags }: Style): string[] {
  return [
    ...(foreground === undefined ? [] : [`fg${foreground % 8}`]),
    ...(background === undefined ? [] : [`bg${background % 8}`]),
    ...(['bold', 'dim', 'italic', 'underline'] as const).filter((name) => flags[name]),
  ];
}

/** Whether a text contains terminal colours or text styles. */
export const hasAnsi = (text: string): boolean => text.slice(0, 100_000).includes('\u001b[');

/** A cell, or undefined for texts that mean empty: ClickUp's `null` and `[]`. */
export function plainCell(cell: string): string {
  const plain = cell.trim();
  if (/^(?:null|undefined|\[\s*\])$/i.test(plain)) return '';
  return /^\[[^[\]]*\]$/.test(plain) ? plain.slice(1, -1).trim() : plain;
}

/**
 * Several values of a cell are separated by commas, semicolons or line breaks; `[a,b]` and `["a","b"]` are lists too.
 */
export function valuesIn(cell: string): string[] {
  const isList = /^\s*\[[^[\]]*\]\s*$/.test(cell);
  return plainCell(cell)
    .split(/[,;\n]/)
    .map((one) => (isList ? one.trim().replace(/^"(.*)"$/, '$1') : one.trim()))
    .filter((one) => one !== '');
}

const trelloColour = /\s\((?:green|yellow|orange|red|purple|blue|sky|lime|pink|black)(?:_(?:dark|light))?\)$/;

/** A label without its colour, which Trello appends. */
export const labelIn = (text: string): string => text.replace(trelloColour, '');

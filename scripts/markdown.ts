/** The first lines of a generated page: what it is generated from, its title and its introduction. */
export function pageStart(source: string, title: string, intro: string): string {
  return `<!-- GENERATED from ${source} by: npm run generate -->\n# ${title}\n\n${intro}\n`;
}

/** A table of Markdown. */
export function tableOf(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  return `${[line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n')}\n`;
}

export function code(text: string): string {
  return `\`${text}\``;
}

export function titleOf(name: string): string {
  return `${name.charAt(0).toUpperCase()}${name.slice(1)}`;
}

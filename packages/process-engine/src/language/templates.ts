/** Texts of a definition in which `{{ CEL }}` is replaced by the expression's result. */

const placeholdersMax = 20;

export type TemplatePart = { readonly text: string } | { readonly expression: string };

/**
 * The parts of a text in order.
 * @returns undefined for a text with unbalanced brackets, or with more than 20 placeholders
 */
export function partsOfTemplate(template: string): TemplatePart[] | undefined {
  const parts: TemplatePart[] = [];
  let at = 0;
  for (let count = 0; ; count += 1) {
    const begin = template.indexOf('{{', at);
    const text = template.slice(at, begin < 0 ? undefined : begin);
    if (text.includes('}}') || count > placeholdersMax) return undefined;
    if (text !== '') parts.push({ text });
    if (begin < 0) return parts;
    // The placeholder ends where the expression ends: a map may end with the same brackets.
    let end = template.indexOf('}}', begin + 2);
    if (end < 0) return undefined;
    while (template[end + 2] === '}') end += 1;
    const expression = template.slice(begin + 2, end).trim();
    if (expression === '') return undefined;
    parts.push({ expression });
    at = end + 2;
  }
}

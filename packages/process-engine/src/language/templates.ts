import type { TextPart } from '@baton/values/text-expressions';

/** Texts of a definition in which `{{ CEL }}` is replaced by the expression's result. */

const placeholdersMax = 20;

/**
 * The parts of a template in order. @returns undefined for a template with unbalanced brackets, or with more than 20
 * placeholders
 */
export function partsOfTemplate(template: string): TextPart<string>[] | undefined {
  const parts: TextPart<string>[] = [];
  let at = 0;
  for (let count = 0; ; count += 1) {
    const begin = template.indexOf('{{', at);
    const literal = template.slice(at, begin < 0 ? undefined : begin);
    if (literal.includes('}}') || count > placeholdersMax) return undefined;
    if (begin < 0) return [...parts, { literal, expression: undefined }];
    // The placeholder ends where its expression ends: a map at the end of the expression adds closing brackets of its
    // own.
    let end = template.indexOf('}}', begin + 2);
    if (end < 0) return undefined;
    while (template[end + 2] === '}') end += 1;
    const expression = template.slice(begin + 2, end).trim();
    if (expression === '') return undefined;
    parts.push({ literal, expression });
    at = end + 2;
  }
}

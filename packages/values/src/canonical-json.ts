/** Compact JSON with the keys of every object sorted. Not recursive, because a body can be deeper than the stack. */
export function canonicalJson(root: unknown): string {
  let text = '';
  const pending: { lead: string; value: unknown }[] = [{ lead: '', value: root }];
  for (let piece = pending.pop(); piece !== undefined; piece = pending.pop()) {
    const { lead, value } = piece;
    text += lead;
    if (value === closed) continue;
    if (typeof value !== 'object' || value === null) {
      text += JSON.stringify(value) ?? 'null';
      continue;
    }
    const pieces = Array.isArray(value)
      ? value.map((item: unknown) => ({ lead: '', value: item }))
      : Object.entries(value)
          .sort(([left], [right]) => (left < right ? -1 : 1))
          .map(([key, item]: [string, unknown]) => ({ lead: `${JSON.stringify(key)}:`, value: item }));
    text += Array.isArray(value) ? '[' : '{';
    pending.push({ lead: Array.isArray(value) ? ']' : '}', value: closed });
    for (let index = pieces.length - 1; index >= 0; index -= 1) {
      const { lead: name, value: item } = pieces[index] as { lead: string; value: unknown };
      pending.push({ lead: index > 0 ? `,${name}` : name, value: item });
    }
  }
  return text;
}

const closed = Symbol('closed');

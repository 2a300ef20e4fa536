/** A check or evidence of a task without its author. */
export function withoutAuthor<Item extends object>(item: Item): Omit<Item, 'addedByPrincipalId'> {
  const { addedByPrincipalId: _, ...rest } = item as Item & { addedByPrincipalId?: unknown };
  return rest;
}

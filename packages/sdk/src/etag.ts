const tags = new WeakMap<object, string>();

/** Remembers the ETag of a response. */
export function keepEtag(answer: unknown, etag: string | null): void {
  if (etag !== null && typeof answer === 'object' && answer !== null) tags.set(answer, etag);
}

/**
 * Returns the ETag of a response that this client returned, for `ifMatch`.
 * @example
 * const read = await baton.tasks.get(task.id);
 * await baton.tasks.update(task.id, { title: 'A better title' }, { ifMatch: etagOf(read) });
 * @throws Error for an object without an ETag of its own, such as an item of a list
 */
export function etagOf(answer: object): string {
  const etag = tags.get(answer);
  if (etag === undefined) throw new Error('this object has no ETag: read it by itself, not in a list');
  return etag;
}

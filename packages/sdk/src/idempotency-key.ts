/**
 * Generates an idempotency key of 128 random bits. Browsers don't offer crypto.randomUUID on pages of another machine
 * over plain HTTP.
 * @example
 * const idempotencyKey = newIdempotencyKey();
 * const first = await baton.tasks.create({ title: 'Once' }, { idempotencyKey });
 * const again = await baton.tasks.create({ title: 'Once' }, { idempotencyKey });
 * console.log(first.id === again.id);
 */
export function newIdempotencyKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

import type { Context as LowerContext } from '../access/context.ts';

/** What a handler of this layer works with. */
export type Context = LowerContext;

import type { Context as LowerContext } from '../results/context.ts';
import type { Settings } from './settings.ts';

/** What a handler of this layer works with. */
export interface Context extends LowerContext {
  readonly settings: Settings;
}

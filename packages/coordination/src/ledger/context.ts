import { type EventDeclaration, endpointsOf } from '@baton/kernel/http/service';
import type { Auth } from '../service/auth.ts';
import type { Context as LowerContext } from '../service/context.ts';
import type { Permission } from '../service/permissions.ts';
import type { ErrorCode } from './errors.ts';
import type { EventDraft } from './event-draft.ts';
import type { Settings } from './settings.ts';

/** What a handler of this layer works with. */
export interface Context extends LowerContext {
  readonly settings: Settings;
  /** What the journal may hold, by type; nothing else is written. */
  readonly eventCatalog: ReadonlyMap<string, EventDeclaration>;
  /** Events of this change so far; written in one statement before the commit. Filled by `emit` only. */
  readonly drafts: EventDraft[];
  /** What all events of this change follow from, unless they say otherwise. */
  readonly causationId?: string;
  /** Set by a statement that wrote its events itself, so that readers are woken. */
  wroteEvents: boolean;
}

/** Declares an operation of this layer; see `EndpointSpec` for what each field does. */
export const endpoint = endpointsOf<{
  code: ErrorCode;
  permission: Permission;
  auth: Auth;
  context: Context;
}>();

// The fields of the services' responses that the command line reads.

export interface Page<Item> {
  readonly items: readonly Item[];
  readonly nextCursor: string | null;
}

export interface Task {
  readonly id: string;
  readonly publicId: string;
  readonly typeKey: string;
  readonly title: string;
  readonly status: string;
  readonly systemStatusCategory: string;
  readonly priority: string;
  readonly version: number;
}

export interface Claim {
  readonly id: string;
  readonly taskId: string;
  readonly fencingToken: number;
  readonly expiresAt: string;
}

export interface Run {
  readonly id: string;
}

export interface JournalEvent {
  readonly id: string;
  readonly type: string;
  readonly entityType: string;
  readonly entityId: string;
  readonly actorId: string | null;
  readonly payload: Readonly<Record<string, unknown>>;
  readonly occurredAt: string;
  readonly cursor: string;
}

export interface JournalPage {
  readonly items: readonly JournalEvent[];
  readonly nextCursor: string;
  readonly hasMore: boolean;
}

export interface HarnessContext {
  readonly tenant: { readonly id: string; readonly slug: string; readonly name: string };
  readonly principal: {
    readonly id: string;
    readonly kind: string;
    readonly displayName: string;
    readonly status: string;
  };
  readonly permissions: readonly string[];
  readonly eventCursor: string;
}

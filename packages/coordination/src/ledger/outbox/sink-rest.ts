/** Consecutive failures after which a tenant is paused, or the sink, if several tenants are affected. */
const failuresMax = 100;
const shortlyMs = 10_000;
/** The maximum number of counters of each kind; any failure beyond that is counted for the sink alone. */
const lanesMax = 1000;
/**
 * The maximum number of tenants that a statement skips; if more are paused, the deliveries of the others are claimed
 * and released.
 */
const passedOverMax = 100;

/** The tenant and type of a delivery. */
export interface Subject {
  readonly tenant_id: string;
  readonly type: string;
}

export interface SinkRest {
  /** Milliseconds until the sink is tried again; 0 while it is not paused. */
  waitMs(): number;
  /** Whether the sink must be retried with a single delivery, as after each pause until a delivery succeeds. */
  readonly isTrial: boolean;
  /** Tenants that are paused, or retried with one delivery at a time; 100 at most. */
  restingTenants(): string[];
  /** A tenant whose pause has ended and that is not being retried. */
  tenantToTry(): string | undefined;
  /** Milliseconds until an event of that tenant is tried again. */
  tenantWaitMs(subject: Subject): number;
  /** Milliseconds until an event of that tenant and type is tried again. */
  typeWaitMs(subject: Subject): number;
  /** Whether a delivery may start now; the caller then calls `end`. */
  begin(subject: Subject): boolean;
  end(subject: Subject): void;
  /** Whether a delivery has succeeded since shortly before the given time, as measured by `performance.now()`. */
  deliveredAround(atMs: number): boolean;
  /** @param beganAtMs a delivery that started before the pause does not end it */
  delivered(beganAtMs: number): void;
  /** A delivery failed, and its event may be at fault. */
  failed(subject: Subject): void;
  /** The sink accepts no events of this type. */
  refusedType(subject: Subject): void;
  /** The sink is unavailable, so it is paused immediately. */
  away(pauseMs?: number): void;
}

/**
 * Decides when a sink is paused: while it is unreachable, and after many consecutive failures. Otherwise an hour of
 * events would use up their attempts on a sink that is down. If all failures concern one tenant, only that tenant is
 * paused, because the sink may reject only its events. Each pause is twice as long as the one before, until a delivery
 * succeeds; then the sink is up, and events that it rejects use up their attempts.
 */
export function createRest(lengths: { baseMs: number; maxMs: number }): SinkRest {
  const sink = createPauses(lengths);
  const tenants = new Map<string, Lane>();
  const types = new Map<string, Lane>();
  let failures = 0;
  let deliveredAt = Number.NEGATIVE_INFINITY;
  const typeKey = ({ tenant_id, type }: Subject) => `${tenant_id} ${type}`;
  const typeWaitMs = (subject: Subject) => types.get(typeKey(subject))?.waitMs() ?? 0;
  return {
    waitMs: sink.waitMs,
    get isTrial() {
      return sink.isTrial();
    },
    restingTenants: () => resting().slice(0, passedOverMax),
    tenantToTry: () =>
      resting().find((id) => {
        const lane = tenants.get(id);
        return lane !== undefined && !lane.isBeingTried && lane.waitMs() === 0;
      }),
    tenantWaitMs({ tenant_id }) {
      const lane = tenants.get(tenant_id);
      return lane?.isBeingTried ? lengths.baseMs : (lane?.waitMs() ?? 0);
    },
    typeWaitMs,
    begin(subject) {
      if (sink.waitMs() > 0 || typeWaitMs(subject) > 0) return false;
      const lane = tenants.get(subject.tenant_id);
      // While the sink itself is being retried, the delivery may be that of any tenant.
      if (sink.isTrial() || !lane?.isTrial()) return true;
      if (lane.isBeingTried || lane.waitMs() > 0) return false;
      lane.isBeingTried = true;
      return true;
    },
    end({ tenant_id }) {
      const lane = tenants.get(tenant_id);
      if (lane !== undefined) lane.isBeingTried = false;
    },
    deliveredAround: (atMs) => deliveredAt >= atMs - shortlyMs,
    delivered(beganAtMs) {
      deliveredAt = performance.now();
      failures = 0;
      tenants.clear();
      types.clear();
      if (beganAtMs >= sink.since()) sink.end();
    },
    failed({ tenant_id }) {
      failures += 1;
      const lane = laneOf(tenants, tenant_id);
      if (lane !== undefined) lane.failures += 1;
      const isOfSeveral = tenants.size > 1 || lane === undefined;
      if (sink.isTrial() || (failures >= failuresMax && isOfSeveral)) sink.rest();
      else if (lane?.isTrial() || failures >= failuresMax) lane?.rest();
    },
    refusedType(subject) {
      const lane = laneOf(types, typeKey(subject));
      if (lane === undefined) return;
      lane.failures += 1;
      if (lane.isTrial() || lane.failures >= failuresMax) lane.rest();
    },
    away: sink.rest,
  };

  function resting(): string[] {
    return [...tenants].filter(([, lane]) => lane.isTrial()).map(([id]) => id);
  }

  function laneOf(lanes: Map<string, Lane>, key: string): Lane | undefined {
    const found = lanes.get(key);
    if (found !== undefined || lanes.size >= lanesMax) return found;
    const made = { ...createPauses(lengths), failures: 0, isBeingTried: false };
    lanes.set(key, made);
    return made;
  }
}

/** Failures since the last success, for one tenant or for one type. */
interface Lane extends Pauses {
  failures: number;
  isBeingTried: boolean;
}

interface Pauses {
  waitMs(): number;
  /** Whether the tenant or type was paused and has not recovered. */
  isTrial(): boolean;
  /** When the last pause began, as measured by `performance.now()`. */
  since(): number;
  rest(pauseMs?: number): void;
  end(): void;
}

/** Pauses that double. */
function createPauses({ baseMs, maxMs }: { baseMs: number; maxMs: number }): Pauses {
  let rests = 0;
  let since = Number.NEGATIVE_INFINITY;
  let until = 0;
  const waitMs = () => Math.max(0, until - performance.now());
  return {
    waitMs,
    isTrial: () => rests > 0,
    since: () => since,
    /** Deliveries that were in progress when a pause started don't start another one. */
    rest(pauseMs) {
      if (waitMs() > 0) return;
      since = performance.now();
      until = since + Math.min(maxMs, pauseMs ?? baseMs * 2 ** Math.min(rests, 30));
      rests += 1;
    },
    end() {
      rests = 0;
      until = 0;
    },
  };
}

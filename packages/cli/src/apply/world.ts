import type {
  BatonClient,
  Capability,
  Paged,
  Principal,
  Project,
  Role,
  Workspace,
  WorkspaceType,
} from '@baton/sdk';
import { PlainError } from '../plain-error.ts';
import type { Kind } from './documents.ts';

/** The member of a principal's metadata that holds its key in files. */
export const principalKeyMember = 'applyKey';
/** The member that holds the key instead, once the principal has been withdrawn in favour of another one. */
export const withdrawnMember = 'applyWithdrawn';

const listNames: Partial<Record<Kind, string>> = {
  Role: 'roles',
  Capability: 'capabilities',
  WorkspaceType: 'workspace types',
  Workspace: 'workspaces',
  Principal: 'principals',
  Project: 'projects',
};

/** The maximum number of items in one list; larger ones can't be managed by files. */
const itemsMax = 20_000;
/**
 * How many known principals are read again, because transactions may end in a different order from the one in which
 * they began.
 */
const overlapItems = 50;

/** The current objects, which are read on first use and updated by the changes of an apply. */
export class World {
  readonly #baton: BatonClient;
  readonly #lists = new Map<string, Promise<unknown[]>>();
  /** The keys of all principals that were read, by id; null for those that the plan creates. */
  readonly #principalKeys = new Map<string, unknown>();

  constructor(baton: BatonClient) {
    this.#baton = baton;
  }

  /** The tenant's roles, except those of workspaces. */
  async role(slug: string): Promise<Role | undefined> {
    const all = await this.#all('roles', () => this.#baton.roles.list({ limit: 200 }));
    return all.find((one) => one.slug === slug && one.workspaceId === null);
  }

  async capability(name: string): Promise<Capability | undefined> {
    const all = await this.#all('capabilities', () => this.#baton.capabilities.list({ limit: 200 }));
    return all.find((one) => one.name === name);
  }

  async workspaceType(keyOrId: string): Promise<WorkspaceType | undefined> {
    const all = await this.#all('workspace types', () => this.#baton.workspaceTypes.list({ limit: 200 }));
    return all.find(({ key, id }) => key === keyOrId || id === keyOrId);
  }

  /** @param path slugs from the root on: `company/shop` */
  async workspace(path: string): Promise<Workspace | undefined> {
    const all = await this.#all('workspaces', () => this.#baton.workspaces.list({ limit: 200 }));
    let found: Workspace | undefined;
    for (const slug of path.split('/')) {
      const parentId: string | null = found === undefined ? null : found.id;
      found = all.find((one) => one.slug === slug && one.parentId === parentId);
      if (found === undefined) return undefined;
    }
    return found;
  }

  /** @throws PlainError for a key of two principals */
  async principal(key: string): Promise<Principal | undefined> {
    const found = (await this.principals()).filter(({ metadata }) => metadata[principalKeyMember] === key);
    if (found.length > 1)
      throw new PlainError(
        `The principals ${found.map(({ id }) => id).join(' and ')} both have the key ${key} in their metadata (${principalKeyMember}): remove it from one of them.`,
      );
    return found[0];
  }

  async principalByKeyOrId(name: string): Promise<Principal | undefined> {
    return (await this.principal(name)) ?? (await this.principals()).find(({ id }) => id === name);
  }

  async principals(): Promise<Principal[]> {
    const all = await this.#all('principals', () => this.#baton.principals.list({ limit: 200 }));
    if (this.#principalKeys.size === 0) for (const { id } of all) this.#principalKeys.set(id, null);
    return all;
  }

  /** Principals with this key that were created since the first read of `principals`. */
  async principalsMadeSince(key: string): Promise<Principal[]> {
    let read = 0;
    // The newest first.
    for await (const { id, metadata } of this.#baton.principals.list({ limit: overlapItems })) {
      read += 1;
      if (!this.#principalKeys.has(id)) this.#principalKeys.set(id, metadata[principalKeyMember]);
      else if (read >= overlapItems) break;
    }
    const found: Principal[] = [];
    for (const [id, keyThen] of this.#principalKeys)
      if (keyThen === key) found.push(await this.#baton.principals.get(id));
    return found.filter(({ metadata }) => metadata[principalKeyMember] === key);
  }

  async project(workspaceId: string): Promise<Project | undefined> {
    const all = await this.#all('projects', () => this.#baton.projects.list({ limit: 200 }));
    return all.find((one) => one.workspaceId === workspaceId);
  }

  /** Reads the list of a kind again on its next use. */
  forget(kind: Kind): void {
    this.#lists.delete(listNames[kind] ?? '');
  }

  #all<Item>(name: string, list: () => Paged<unknown, Item>): Promise<Item[]> {
    const known = this.#lists.get(name);
    if (known !== undefined) return known as Promise<Item[]>;
    const read = readAll(name, list);
    this.#lists.set(name, read);
    return read;
  }
}

async function readAll<Item>(name: string, list: () => Paged<unknown, Item>): Promise<Item[]> {
  const all: Item[] = [];
  for await (const item of list()) {
    if (all.length >= itemsMax)
      throw new PlainError(
        `There are more than ${itemsMax} ${name}, which is too many to compare with files.`,
      );
    all.push(item);
  }
  return all;
}

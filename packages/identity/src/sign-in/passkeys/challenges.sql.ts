import { sql } from '@baton/kernel/database/sql';

/** Returns no row when the challenge has been used; waits for a transaction that is using it. */
export function insertUsedChallenge(challengeHash: string, keptSeconds: number) {
  return sql<{ challenge_hash: string }>`
    insert into used_challenges (challenge_hash, expires_at)
    values (${challengeHash}, now() + make_interval(secs => ${keptSeconds}))
    on conflict do nothing
    returning challenge_hash`;
}

export function deleteExpiredChallenges(rowsMax: number) {
  return sql`
    delete from used_challenges where challenge_hash in (
      select challenge_hash from used_challenges where expires_at < now()
      order by expires_at limit ${rowsMax} for update skip locked)`;
}

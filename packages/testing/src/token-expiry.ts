import pg from 'pg';

/** Sets the expiry of a personal access token to yesterday, in identity's database. */
export async function expireToken(databaseUrl: string, tokenId: string): Promise<void> {
  const client = new pg.Client({ connectionString: databaseUrl, application_name: 'baton-test' });
  await client.connect();
  try {
    await client.query(
      `update platform_access_tokens
       set created_at = now() - interval '2 days', expires_at = now() - interval '1 day' where id = $1`,
      [tokenId],
    );
  } finally {
    await client.end();
  }
}

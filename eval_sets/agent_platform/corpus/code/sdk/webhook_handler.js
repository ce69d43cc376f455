'use strict';
/**
 * Express handler for Corvane webhooks.
 *
 * Each request carries `X-Corvane-Signature: t=<unix seconds>,v1=<hex>`, where v1 is
 * HMAC-SHA256 over "<t>.<raw body>" with the endpoint's signing secret. Requests whose
 * timestamp differs by more than 300 seconds from the local clock are refused.
 *
 * Answer within 5 seconds with any 2xx status. Slower answers count as failed deliveries.
 */
const crypto = require('node:crypto');

const TOLERANCE_S = 300;
const seen = new Map();

function verify(rawBody, header, secrets, now = Date.now() / 1000) {
  const parts = Object.fromEntries(header.split(',').map((p) => p.split('=')));
  if (Math.abs(now - Number(parts.t)) > TOLERANCE_S) {
    return { ok: false, reason: 'timestamp outside tolerance' };
  }
  // During a secret roll-over both the old and the new secret are valid for 24 hours.
  for (const secret of secrets) {
    const expected = crypto.createHmac('sha256', secret).update(`${parts.t}.${rawBody}`).digest();
    const given = Buffer.from(parts.v1 || '', 'hex');
    if (given.length === expected.length && crypto.timingSafeEqual(given, expected)) {
      return { ok: true };
    }
  }
  return { ok: false, reason: 'signature mismatch' };
}

function isDuplicate(eventId, ttlMs = 15 * 60 * 1000) {
  const now = Date.now();
  for (const [id, at] of seen) {
    if (now - at > ttlMs) seen.delete(id);
  }
  if (seen.has(eventId)) return true;
  seen.set(eventId, now);
  return false;
}

function webhookHandler({ secrets, onEvent }) {
  return async (req, res) => {
    const check = verify(req.rawBody, req.get('X-Corvane-Signature') || '', secrets);
    if (!check.ok) return res.status(401).json({ error: check.reason });
    const event = JSON.parse(req.rawBody);
    if (isDuplicate(event.event_id)) return res.status(204).end();
    res.status(202).end(); // acknowledge first, work afterwards
    try {
      await onEvent(event);
    } catch (err) {
      console.error('webhook %s failed: %s', event.event_id, err.message);
    }
  };
}

module.exports = { verify, webhookHandler };

-- A gateway counts for the rulesets of its own site: what others said is no count of the rule, and what it counted elsewhere
-- isn't either once it, or the ruleset, belongs to another site.
DELETE FROM rule_counters WHERE NOT EXISTS (
    SELECT 1 FROM gateways g JOIN rulesets s ON s.site_id = g.site_id
    WHERE g.id = rule_counters.gateway_id
      AND s.id = CASE rule_counters.what WHEN 'rule' THEN (SELECT ruleset_id FROM rules WHERE id = rule_counters.rule_id)
                                         ELSE rule_counters.rule_id END);
CREATE TRIGGER gateways_moved AFTER UPDATE OF site_id ON gateways WHEN OLD.site_id <> NEW.site_id BEGIN
    DELETE FROM rule_counters WHERE gateway_id = NEW.id;
END;
CREATE TRIGGER rulesets_moved AFTER UPDATE OF site_id ON rulesets WHEN OLD.site_id <> NEW.site_id BEGIN
    DELETE FROM rule_counters WHERE rule_id = NEW.id;
    DELETE FROM rule_counters WHERE rule_id IN (SELECT id FROM rules WHERE ruleset_id = NEW.id);
END;
